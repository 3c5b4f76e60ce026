"""Puts the package's configuration behind that of a project (a plugin of Hydra)."""

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin


class SimstudySearchPath(SearchPathPlugin):
    """Appends `simstudy.cli.conf` to Hydra's search path."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append the package's folder of settings."""
        search_path.append(provider="simstudy", path="pkg://simstudy.cli.conf")


"use strict";
// A link to folded text unfolds it, and a command can be copied by a button. Without scripts both
// are there all the same: folded text opens by its first line, a command is marked by one click.
(() => {
  function unfold() {
    const named = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const folded = named && named.closest("details");
    if (folded) {
      folded.open = true;
      folded.scrollIntoView();
    }
  }

  async function copy(code, button) {
    getSelection().selectAllChildren(code);
    let isDone;
    try {
      await navigator.clipboard.writeText(code.textContent);
      isDone = true;
    } catch {
      isDone = document.execCommand("copy"); // what is marked, where pages may not write themselves
    }
    button.textContent = isDone ? "copied" : "marked";
    setTimeout(() => (button.textContent = "copy"), 2000);
  }

  for (const code of document.querySelectorAll(".command code")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "copy";
    button.addEventListener("click", () => copy(code, button));
    code.parentElement.before(button);
  }
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    link.addEventListener("click", () => setTimeout(unfold)); // also to where one is already
  }
  addEventListener("hashchange", unfold);
  unfold();
})();

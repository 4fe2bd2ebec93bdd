"use strict";
(() => {
  const said = document.getElementById("said");
  const words = said.dataset;
  const select = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  };
  const copy = async (node) => {
    const text = node.textContent;
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch (refused) {
      select(node);
      return document.execCommand("copy");
    }
  };
  for (const block of document.querySelectorAll(".command")) {
    const code = block.querySelector("code");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = words.copy;
    button.setAttribute("aria-label", words.copy + ": " + code.textContent.split("\n")[0]);
    button.addEventListener("click", async () => {
      const done = await copy(code);
      button.textContent = done ? words.copied : "Ctrl+C";
      said.textContent = done ? words.copied : words.selected;
      setTimeout(() => {
        button.textContent = words.copy;
        said.textContent = "";
      }, 2000);
    });
    block.append(button);
  }
})();

// The live page: a pause button, and a list that does not grow for ever.
"use strict";
(() => {
  const most = 60;
  const pause = document.getElementById("pause");
  let paused = false;
  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on" : "Pause";
  });
  document.body.addEventListener("htmx:sseBeforeMessage", (event) => {
    if (paused) event.preventDefault();
  });
  document.body.addEventListener("htmx:sseMessage", () => {
    const items = document.getElementById("items");
    while (items.children.length > most) items.lastElementChild.remove();
    const none = document.getElementById("none");
    if (none && items.children.length) none.remove();
  });
})();

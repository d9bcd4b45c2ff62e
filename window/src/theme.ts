// Runs before the first paint, so that nobody who chose dark sees a white flash.
try {
  const chosen = localStorage.getItem("holdfast.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset["theme"] = chosen;
} catch {
  // Storage is switched off: the system's theme holds.
}

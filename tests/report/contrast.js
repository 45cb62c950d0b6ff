// Every text that is seen, with the contrast of its colour to what lies behind it: [[contrast, text], ...].
(() => {
  const parsed = (text) => {
    const numbers = (text.match(/[\d.]+(e-?\d+)?/g) || []).map(Number);
    return text.startsWith("color(") ? [...numbers.slice(0, 3).map((part) => part * 255), numbers[3] ?? 1] : [...numbers.slice(0, 3), numbers[3] ?? 1];
  };
  const over = (top, below) => [0, 1, 2].map((place) => top[place] * top[3] + below[place] * (1 - top[3])).concat(1);
  const behind = (element) => {
    if (!element) return parsed(getComputedStyle(document.documentElement).colorScheme === "dark" ? "rgb(0,0,0)" : "rgb(255,255,255)");
    const own = parsed(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, behind(element.parentElement));
  };
  const light = (color) => {
    const [r, g, b] = color.map((part) => { const c = part / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    const step = element.closest(".step");
    const fill = step && parsed(getComputedStyle(step.querySelector(".ground")).fill);
    const actor = element.closest(".actor");
    if (actor) return parsed(getComputedStyle(actor.querySelector("rect")).fill);
    return fill && fill[3] === 1 ? fill : behind(element);
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join(" ").trim();
    if (!text || element.closest("script, style, noscript, title, option, [hidden], :disabled") || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const ink = parsed(element.closest("svg") ? style.fill : style.color);
    const pair = [light(ink), light(ground(element))].sort((a, b) => b - a);
    found.push([(pair[0] + 0.05) / (pair[1] + 0.05), text.slice(0, 60), style.color]);
  }
  return found;
})()

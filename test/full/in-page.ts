// Scripts that run in the page. They are texts, because these sources are checked without the types of a browser.

/** Notes each text that the conversation shows. */
export const WATCH_TALK = `(() => {
  const talk = document.getElementById("talk");
  globalThis.texts = [talk.textContent];
  const note = () => texts.push(talk.textContent);
  new MutationObserver(note).observe(talk, { childList: true, subtree: true, characterData: true });
})()`;

export interface Heard {
  readonly id: string;
  readonly kind: string;
}

/** Follows a session with a plain `EventSource`, and keeps its facts. */
export const listenTo = (session: string): string => `(() => {
  globalThis.heard = [];
  new EventSource("/v1/sessions/" + ${JSON.stringify(session)} + "/events").onmessage = ({ data, lastEventId }) => {
    const { fact, kind } = JSON.parse(data);
    if (fact === true) heard.push({ id: lastEventId, kind });
  };
})()`;

/** What is wider than the window, or cut off in it. */
export const TOO_WIDE = `(() => {
  const { clientWidth, scrollWidth } = document.documentElement;
  const outside = [...document.querySelectorAll("body *")].filter((each) => {
    const { left, right, width } = each.getBoundingClientRect();
    return width > 1 && (left < 0 || right > clientWidth);
  });
  return [...(scrollWidth > clientWidth ? ["the document"] : []), ...outside.map((each) => each.outerHTML.slice(0, 80))];
})()`;

export interface Contrasts {
  readonly page: "light" | "dark";
  readonly texts: readonly { readonly text: string; readonly ratio: number }[];
}

/** The contrast of each text with what is behind it, as WCAG defines it. */
export const CONTRASTS = `(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const luminance = (color) => {
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data]
      .map((each) => each / 255)
      .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    if (element === null) return "white";
    const { backgroundColor } = getComputedStyle(element);
    return backgroundColor === "rgba(0, 0, 0, 0)" ? behind(element.parentElement) : backgroundColor;
  };
  const isShown = (each) => each.checkVisibility() && each.getBoundingClientRect().width > 1;
  const hasText = (each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.nodeValue.trim() !== "");
  const texts = [...document.querySelectorAll("body *")].filter((each) => isShown(each) && hasText(each)).map((each) => {
    const [a, b] = [luminance(getComputedStyle(each).color), luminance(behind(each))];
    const text = each.tagName + " " + each.className + ": " + each.textContent.slice(0, 40);
    return { text, ratio: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) };
  });
  return { page: luminance(behind(document.body)) > 0.5 ? "light" : "dark", texts };
})()`;

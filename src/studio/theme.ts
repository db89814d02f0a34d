// Light or dark: as the system has it, until the person at the page chooses.
const KEY = "bowline-theme";

function apply(theme: string | null): void {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

const stored = (): string | null => {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // The browser keeps nothing.
  }
};
apply(stored());

const isDark = (): boolean => {
  const chosen = document.documentElement.dataset.theme;
  return chosen === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : chosen === "dark";
};

export function switchTheme(): void {
  const theme = isDark() ? "light" : "dark";
  apply(theme);
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // It holds until the page is closed.
  }
}

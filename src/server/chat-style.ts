/** The style of the chat page: light and dark, from 320 px on. */
export const CHAT_STYLE = `
:root {
  color-scheme: light dark;
  --page: light-dark(#fff, #15181c); --side: light-dark(#f7f8fa, #1a1e23); --soft: light-dark(#eceff3, #262b32);
  --line: light-dark(#dde1e7, #323840); --edge: light-dark(#868e99, #727c88);
  --text: light-dark(#1b1f24, #e7eaee); --dim: light-dark(#57606a, #a3adb9);
  --accent: light-dark(#2c5f96, #8dbdee); --on-accent: light-dark(#fff, #10202f); --mine: light-dark(#e1ecf8, #233a52);
  --bad: light-dark(#b3261e, #ff9a91); --ask: light-dark(#fff7e3, #322a18); --ask-line: light-dark(#d9b661, #7c6730);
  --wide: 46rem;
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; height: 100dvh; display: grid; grid-template: auto minmax(0, 1fr) / 16rem minmax(0, 1fr); font: .9375rem/1.55 system-ui, sans-serif; background: var(--page); color: var(--text); }
header { grid-column: 1 / -1; display: flex; align-items: center; gap: .75rem; min-height: 3.25rem; padding: .5rem 1rem; border-bottom: 1px solid var(--line); }
h1 { margin: 0; padding-left: 1.6rem; font-size: 1rem; font-weight: 650; background: url(/favicon.svg) 0 50% / 1.15rem no-repeat; }
#menu { display: none; }
#status { margin: 0 0 0 auto; font-size: .8125rem; color: var(--dim); text-align: right; }
#status:not(:empty)::before { content: ""; display: inline-block; width: .5rem; height: .5rem; margin-right: .45rem; border-radius: 50%; background: var(--accent); }
#status.failed { color: var(--bad); }
#status.failed::before { background: var(--bad); }

nav { overflow: auto; padding: 1rem .75rem; border-right: 1px solid var(--line); background: var(--side); font-size: .875rem; }
nav button { width: 100%; }
nav ul { list-style: none; margin: .75rem 0 0; padding: 0; }
nav a { display: block; padding: .35rem .6rem; border-radius: .4rem; color: var(--dim); text-decoration: none; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
nav a:hover { background: var(--soft); color: var(--text); }
nav a[aria-current] { background: var(--soft); color: var(--text); font-weight: 600; }
nav .running a::before, nav .waiting a::before { content: "● "; color: var(--accent); }
nav .waiting a::before { content: "? "; font-weight: 700; }

main { display: flex; flex-direction: column; min-width: 0; min-height: 0; }
#talk { flex: 1; overflow: auto; display: flex; flex-direction: column; align-items: flex-start; gap: .75rem; padding: 1.5rem max(1rem, (100% - var(--wide)) / 2); }
#talk.new::before { content: "Write a message to begin."; margin: auto; color: var(--dim); }
#talk > * { flex: none; max-width: 100%; margin: 0; overflow-wrap: anywhere; }
#talk p { white-space: pre-wrap; unicode-bidi: plaintext; }
#talk .user { align-self: flex-end; max-width: 85%; padding: .5rem .85rem; border-radius: 1rem 1rem .25rem; background: var(--mine); }
#talk .note { font-size: .8125rem; color: var(--dim); }
#talk p.failed { padding: .1rem 0 .1rem .75rem; border-left: 3px solid var(--bad); color: var(--bad); }
details { min-width: min(18rem, 100%); border: 1px solid var(--line); border-radius: .5rem; font-size: .8125rem; color: var(--dim); }
summary { padding: .35rem .7rem; border-radius: .5rem; cursor: pointer; }
summary:hover { background: var(--soft); }
.failed summary, .denied summary, .cancelled summary { color: var(--bad); }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 20rem; overflow: auto; font: .8125rem/1.5 ui-monospace, monospace; color: var(--text); }
details pre { padding: .5rem .7rem; border-top: 1px solid var(--line); }
.wait { min-width: min(22rem, 100%); padding: 1rem; border: 1px solid var(--ask-line); border-radius: .75rem; background: var(--ask); }
.wait p { margin: 0; font-weight: 600; }
.wait pre { margin-top: .4rem; }
.wait button, .wait textarea { margin: .75rem .5rem 0 0; }
.wait textarea { display: block; width: 100%; }

form { display: flex; gap: .5rem; align-items: end; padding: .75rem max(1rem, (100% - var(--wide)) / 2) 1rem; border-top: 1px solid var(--line); }
#say label { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
#login { flex-wrap: wrap; width: min(26rem, 100% - 2rem); margin: auto; padding: 1.25rem; border: 1px solid var(--line); border-radius: .75rem; }
#login label { flex-basis: 100%; font-weight: 600; }
main:has(#login:not([hidden])) #talk { display: none; }
textarea, input { flex: 1; min-width: 0; max-height: 12rem; font: inherit; line-height: 1.4; padding: .5rem .75rem; border: 1px solid var(--edge); border-radius: .5rem; background: var(--page); color: inherit; resize: none; field-sizing: content; }
::placeholder { color: var(--dim); opacity: 1; }
button { flex: none; font: 500 .875rem/1.5 system-ui, sans-serif; padding: .5rem .9rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--page); color: inherit; cursor: pointer; }
button:hover { background: var(--soft); }
form button:not([type]), .wait button:first-of-type { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
form button:not([type]):hover, .wait button:first-of-type:hover { background: color-mix(in srgb, var(--accent) 85%, var(--text)); }
button:disabled, textarea:disabled { opacity: .55; cursor: default; pointer-events: none; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
#talk:focus-visible { outline-offset: -2px; }

@media (max-width: 700px) {
  body { grid-template-columns: minmax(0, 1fr); }
  #menu { display: block; padding: .3rem .7rem; }
  nav { display: none; }
  .menu nav { display: block; border: 0; }
  .menu main { display: none; }
  #talk { padding-block: 1rem; }
}
`;

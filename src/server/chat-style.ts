/** The style of the chat page: light and dark, from 320 px on. */
export const CHAT_STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d5d9df, #3a4048); --soft: light-dark(#f1f3f6, #22262c); --mine: light-dark(#dce9f8, #21384f); --bad: light-dark(#b3261e, #ff9a91); --ask: light-dark(#fff3d6, #43371a); }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; height: 100dvh; display: grid; grid-template: auto minmax(0, 1fr) / 16rem minmax(0, 1fr); font: 1rem/1.5 system-ui, sans-serif; background: light-dark(#fff, #16191d); color: light-dark(#1b1e22, #e6e8eb); }
header { grid-column: 1 / -1; display: flex; align-items: center; gap: 1rem; padding: .5rem 1rem; border-bottom: 1px solid var(--line); }
h1 { font-size: 1.1rem; margin: 0; }
#menu { display: none; }
#status { margin: 0 0 0 auto; font-size: .9rem; text-align: right; }
nav { overflow: auto; padding: 1rem; border-right: 1px solid var(--line); }
nav ul { list-style: none; margin: 1rem 0 0; padding: 0; }
nav a { display: block; padding: .4rem .5rem; border-radius: .4rem; color: inherit; text-decoration: none; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
nav a:hover, nav a[aria-current] { background: var(--soft); }
nav a[aria-current] { font-weight: 600; }
nav .running a::after { content: " …"; }
nav .waiting a::after { content: " ?"; }
main { display: flex; flex-direction: column; min-width: 0; min-height: 0; }
#talk { flex: 1; overflow: auto; display: flex; flex-direction: column; align-items: flex-start; gap: .6rem; padding: 1rem; }
#talk > * { flex: none; max-width: min(48rem, 100%); margin: 0; overflow-wrap: anywhere; }
#talk p { white-space: pre-wrap; }
.user { align-self: flex-end; padding: .5rem .8rem; border-radius: .8rem; background: var(--mine); }
.note, .reasoning, .call { font-size: .9rem; opacity: .85; }
.failed, .denied, .cancelled { color: var(--bad); }
details { min-width: min(16rem, 100%); padding: .2rem .6rem; border: 1px solid var(--line); border-radius: .4rem; }
summary { cursor: pointer; }
pre { margin: .4rem 0; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 20rem; overflow: auto; font: .85rem/1.4 ui-monospace, monospace; }
.wait { padding: .8rem; border-radius: .6rem; background: var(--ask); }
.wait p { margin: 0; }
.wait button { margin: .4rem .5rem 0 0; }
form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end; padding: .8rem 1rem; border-top: 1px solid var(--line); }
form label { flex-basis: 100%; font-size: .85rem; }
textarea, input { flex: 1; min-width: 10rem; font: inherit; padding: .4rem .6rem; border: 1px solid var(--line); border-radius: .4rem; background: transparent; color: inherit; resize: vertical; }
button { font: inherit; padding: .4rem .9rem; border: 1px solid var(--line); border-radius: .4rem; background: var(--soft); color: inherit; cursor: pointer; }
button:disabled { opacity: .5; cursor: default; }
:focus-visible { outline: 2px solid light-dark(#3b6ea5, #8ab8e6); outline-offset: 1px; }
@media (max-width: 700px) {
  body { grid-template-columns: minmax(0, 1fr); }
  #menu { display: block; }
  nav { display: none; }
  .menu nav { display: block; border: 0; }
  .menu main { display: none; }
  #talk { padding: .7rem; }
}
`;

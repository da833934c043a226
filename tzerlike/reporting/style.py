"""The style sheet of all pages: light and dark by the reader's setting, from 380 pixels up, and for print."""

STYLE = """\
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --edge: #dfe3e8; --text: #1c2430; --soft: #566173; --faint: #eef1f5;
    --line: #7d8896;
  --accent: #1766b8; --area: #1766b81f; --bar: #3f8ad6;
  --crash: #b3261e; --wrong: #7326e0; --ice: #9a5b00; --slow: #0b6e69; --add: #0f6b2f; --add-bg: #e3f5e8;
  --del: #a8201a; --del-bg: #fdeaea;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #11151b; --card: #191f27; --edge: #2d3641; --text: #e4e9f0; --soft: #a3afbf; --faint: #222a34;
    --line: #7b8798;
    --accent: #7ab8f5; --area: #7ab8f526; --bar: #4d92d6;
    --crash: #ff8a80; --wrong: #c9a6ff; --ice: #f0b45a; --slow: #5fd0c8; --add: #8fe0a8; --add-bg: #17301f;
    --del: #ff9d96; --del-bg: #3a1d1e;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--page); color: var(--text); line-height: 1.5;
  font: 400 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main, header, footer { max-width: 104rem; margin: 0 auto; padding: 0 clamp(.9rem, 3vw, 2rem); }
header { padding-top: 2rem; }
footer { padding-top: 1rem; padding-bottom: 3rem; color: var(--soft); font-size: .85rem; }
h1 { font-size: clamp(1.4rem, 4vw, 2rem); line-height: 1.2; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .8rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .5rem; }
p { margin: .3rem 0 .8rem; }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
small, .soft { color: var(--soft); font-size: .85rem; font-weight: 400; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; font-size: .82rem; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin: .8rem 0 0; font-size: .92rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .8rem;
  margin: 1.4rem 0 0; }
.tile, .card, .chart {
  background: var(--card); border: 1px solid var(--edge); border-radius: .6rem; padding: .9rem 1rem; min-width: 0;
}
.tile dt { color: var(--soft); font-size: .82rem; }
.tile dd { margin: 0; font-size: 1.35rem; font-weight: 600; font-variant-numeric: tabular-nums; line-height: 1.3; }
.tile dd small { display: block; font-size: .8rem; }
.note { border-left: 4px solid var(--ice); margin: .6rem 0; overflow-wrap: anywhere; font-size: .9rem; }
.grid2 { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 1rem; }
.grid2 > * { min-width: 0; }
.grid2 > .card { align-self: start; }
.grid2 > .whole { grid-column: 1 / -1; }
.whole td.wide { width: 18%; }
.card > h3:first-child { margin-top: 0; }
.chart { margin: 0; }
.chart figcaption { font-weight: 600; margin-bottom: .6rem; }
.plot { display: grid; grid-template-columns: auto 1fr; grid-template-rows: 12rem auto; column-gap: .5rem; }
.ys { position: relative; width: 3.4rem; font-size: .75rem; color: var(--soft); font-variant-numeric: tabular-nums; }
.ys span { position: absolute; right: 0; transform: translateY(50%); white-space: nowrap; line-height: 1; }
.plot svg { width: 100%; height: 100%; overflow: visible; display: block; }
.xs {
  grid-column: 2; display: flex; justify-content: space-between; font-size: .75rem; color: var(--soft);
  padding-top: .45rem; font-variant-numeric: tabular-nums;
}
svg .grid line { stroke: var(--edge); stroke-width: 1; vector-effect: non-scaling-stroke; }
svg .line {
  fill: none; stroke: var(--accent); stroke-width: 2; vector-effect: non-scaling-stroke; stroke-linejoin: round;
}
svg .area { fill: var(--area); }
svg .spot { fill: transparent; }
svg .spot:hover { fill: var(--area); }
svg.model { display: block; margin: .4rem auto; font-family: ui-monospace, Menlo, Consolas, monospace;
  font-size: 12px; }
svg.model rect { fill: var(--faint); stroke: var(--line); } svg.model .constant rect { stroke-dasharray: 4 3; }
svg.model .call rect { fill: var(--card); stroke: var(--accent); }
svg.model text { fill: var(--soft); text-anchor: middle; } svg.model .name { fill: var(--text); font-weight: 600; }
svg.model .edge { fill: none; stroke: var(--line); } svg.model .tip { fill: var(--line); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th, td { text-align: left; padding: .28rem .6rem .28rem 0; border-bottom: 1px solid var(--edge);
  vertical-align: top; }
th { color: var(--soft); font-weight: 500; font-size: .8rem; white-space: nowrap; }
tr:last-child td { border-bottom: 0; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.name { overflow-wrap: anywhere; min-width: 6.5rem; }
td.wide { width: 34%; min-width: 4.5rem; padding-right: 0; vertical-align: middle; }
.bar { display: block; height: .6rem; background: var(--faint); border-radius: .3rem; overflow: hidden; }
.bar i { display: block; height: 100%; background: var(--bar); border-radius: .3rem; }
details > summary { cursor: pointer; }
[hidden] { display: none !important; }
.skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; top: .5rem; }
main:focus { outline: none; }
.fold > summary, article summary { color: var(--accent); font-size: .88rem; padding: .3rem 0; }
.panel {
  display: flex; flex-wrap: wrap; gap: .6rem 1.4rem; align-items: center; background: var(--card);
  border: 1px solid var(--edge); border-radius: .6rem; padding: .7rem 1rem; font-size: .88rem;
  margin-top: 1rem;
}
fieldset { border: 0; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: .35rem; align-items: center;
  min-width: 0; }
legend { float: left; margin-right: .5rem; padding: 0; color: var(--soft); }
input[type=search], select, button {
  font: inherit; color: var(--text); background: var(--page); border: 1px solid var(--line); border-radius: .4rem;
  padding: .25rem .6rem; max-width: 100%;
}
input[type=search] { width: 15rem; }
button { cursor: pointer; } article button { font-size: .85rem; } button:hover { background: var(--faint); }
.more { display: block; margin: 1rem auto; padding: .5rem 1.4rem; }
.chip { border: 1px solid var(--edge); border-left: 4px solid var(--kind, var(--soft)); border-radius: .4rem;
  padding: .1rem .5rem; }
.chip input { vertical-align: -.1em; margin: 0 .3rem 0 0; } .chip b { font-variant-numeric: tabular-nums; }
output { color: var(--soft); }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 32rem), 1fr)); gap: 1rem; }
.finding {
  background: var(--card); border: 1px solid var(--edge); border-left: 4px solid var(--kind, var(--soft));
  border-radius: .6rem; padding: .8rem 1rem; min-width: 0; display: flex; flex-direction: column;
}
.finding:target { outline: 2px solid var(--accent); }
.finding h4 { font-size: 1rem; font-weight: 600; color: var(--text); margin: 0; overflow-wrap: anywhere;
  line-height: 1.35; }
.finding h4 a { color: inherit; text-decoration: none; } .finding h4 a:hover { text-decoration: underline; }
.finding h5 { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.finding details h5 { position: static; width: auto; height: auto; clip-path: none; margin: .6rem 0 0; }
h5 { font-size: .82rem; color: var(--soft); font-weight: 500; }
.tags { display: flex; flex-wrap: wrap; gap: .1rem .9rem; margin: .3rem 0 .1rem; font-size: .85rem;
  color: var(--soft); }
.tags .kind { color: var(--kind, var(--soft)); font-weight: 600; } .tags .due { overflow-wrap: anywhere; }
.finding > pre { max-height: 15.5rem; }
.command { display: flex; gap: .5rem; align-items: center; margin-top: auto; padding-top: .5rem; }
.command code {
  flex: 1; min-width: 0; overflow-x: auto; white-space: nowrap; background: var(--faint); border-radius: .4rem;
  padding: .3rem .6rem;
}
.crash, .hang, .oom { --kind: var(--crash); }
.wrong-code { --kind: var(--wrong); }
.ice-on-valid, .invalid-ir { --kind: var(--ice); }
.slow-code { --kind: var(--slow); }
.comment { color: var(--soft); font-style: italic; } .string { color: var(--add); } .number { color: var(--ice); }
.keyword, .decorator { color: var(--wrong); } .api { color: var(--accent); }
ul.rows { list-style: none; margin: 0; padding: 0; }
ul.rows ul.rows { padding-left: 1.1rem; }
.row {
  display: grid; grid-template-columns: minmax(0, 1fr) 12rem 4.5rem 10rem; gap: 0 .8rem; align-items: center;
  padding: .18rem 0; border-bottom: 1px solid var(--edge); font-size: .88rem; font-variant-numeric: tabular-nums;
}
.compared .row { grid-template-columns: minmax(0, 1fr) 9rem 4.5rem 10rem 17.5rem; }
summary.row { list-style: none; } summary.row::-webkit-details-marker { display: none; }
summary.row > :first-child::before { content: "\\25B8"; color: var(--soft); display: inline-block; width: 1.1rem; }
details[open] > summary.row > :first-child::before { content: "\\25BE"; }
.row > :first-child { overflow-wrap: anywhere; } .row .n { text-align: right; }
div.row > :first-child { padding-left: 1.1rem; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .5rem 0; }
dl.facts { font-size: .88rem; }
dl.facts dt { color: var(--soft); } dl.facts dd { margin: 0; overflow-wrap: anywhere; min-width: 0; }
pre {
  background: var(--faint); border-radius: .4rem; padding: .7rem .8rem; margin: .4rem 0 .8rem; overflow: auto;
  max-height: 34rem; line-height: 1.45; tab-size: 4;
}
pre .add { color: var(--add); background: var(--add-bg); } pre .del { color: var(--del); background: var(--del-bg); }
pre .at { color: var(--soft); }
pre .add, pre .del, pre .at { display: inline-block; min-width: 100%; }
@media (max-width: 34rem) {
  dl.facts { grid-template-columns: 1fr; gap: 0; } dl.facts dd { margin-bottom: .35rem; }
  .finding { padding: .7rem; } input[type=search] { width: 100%; }
  .panel label:has(input[type=search]) { width: 100%; }
  .row, .compared .row { grid-template-columns: minmax(0, 1fr) 4.5rem; }
  .row .share, .row .counts { grid-column: 1 / -1; } .row .share { order: 9; }
  .row .n.counts { text-align: left; order: 8; }
  .row .counts, .row .share { margin-left: 1.1rem; } ul.rows ul.rows { padding-left: .6rem; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .5rem; } .tile { padding: .6rem .7rem; }
  .card, .chart { padding: .8rem .7rem; }
  .ys { width: 2.9rem; } td.wide { width: 22%; min-width: 3rem; }
  .whole td.wide { display: none; }
}
@media print {
  :root { color-scheme: light; --page: #fff; --card: #fff; --faint: #f4f4f4; --text: #000; --soft: #444;
    --edge: #bbb; }
  nav, .panel, .copy, .more { display: none; } pre { max-height: none; white-space: pre-wrap;
    overflow-wrap: anywhere; }
  .tile, .chart, tr { break-inside: avoid; } summary { break-after: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""

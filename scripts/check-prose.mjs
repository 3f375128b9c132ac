/** Measures the comments of the product. Over an aim, prints the worst sentences and exits 1. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bootstrap } from './bootstrap.mjs';
import { exitOnSetupError, trackedFiles } from './setup-command.mjs';
import { ROOT } from './workspace.mjs';

/** STYLE_GUIDE.md explains the aims. A figure is a proxy: what counts is a reader who needs no second reading. */
const AIMS = {
  openings: { max: 3, unit: '% of the comments begin with a word that delays the subject' },
  odd: { max: 1, unit: 'odd words in 1,000' },
  ofIt: { max: 0.5, unit: '"of it", "of them" and the like in 1,000 words' },
  wide: { max: 0, unit: `comment lines beyond column 110` },
  long: { max: 3, unit: '% of the sentences have more than 22 words' },
};
const COLUMNS_MAX = 110;
const WORDS_MAX = 22;
const SENTENCES_SHOWN = 15;

const OPENING =
  /^\W*(Of|What|Whose|Whom|Where|By|For|In|Without|With|Behind|Beside|From|At|As|Whether|Who|Whoever)\b/;
const ODD =
  /\b(nobody|somebody|whoever|whom|whose|another's|somebody's|anybody|everybody|in hand|what is left|else|be it|so (?:long|much|many|few) (?:as|a)|comes? to|told|tells of|takes note|goes by|gives way|in vain|thereof)\b/gi;
const OF_IT = /\b(of it|of them|of which|of whom|of one|of his|of that)\b/gi;

await exitOnSetupError(bootstrap);
const { default: ts } = await import('typescript');

const totals = { comments: 0, openings: 0, sentences: 0, words: 0, odd: 0, ofIt: 0, wide: 0, long: 0 };
const faults = [];
await exitOnSetupError(() => {
  for (const file of productFiles()) measure(file, readFileSync(join(ROOT, file), 'utf8'));
});

const figures = {
  openings: (100 * totals.openings) / totals.comments,
  odd: (1000 * totals.odd) / totals.words,
  ofIt: (1000 * totals.ofIt) / totals.words,
  wide: totals.wide,
  long: (100 * totals.long) / totals.sentences,
};
const missed = Object.entries(AIMS).filter(([name, { max }]) => figures[name] > max);
for (const [name, { max, unit }] of missed)
  console.error(`comments: ${figures[name].toFixed(1)} ${unit} (${max} at most)`);
if (missed.length > 0) {
  faults.sort((a, b) => b.weight - a.weight);
  for (const { file, line, text } of faults.slice(0, SENTENCES_SHOWN))
    console.error(`  ${file}:${line} ${text}`);
  process.exitCode = 1;
}

function productFiles() {
  return trackedFiles('apps/*/src/*.ts', 'packages/*/src/*.ts').filter(
    (file) => !file.endsWith('.test.ts') && !file.startsWith('packages/testing/'),
  );
}

function measure(file, source) {
  for (const { line, lines, text } of commentsOf(source)) {
    for (const [offset, { length }] of lines.entries()) {
      if (length <= COLUMNS_MAX) continue;
      totals.wide += 1;
      faults.push({ weight: 3, file, line: line + offset, text: `(${length} columns)` });
    }
    const prose = proseOf(text);
    if (prose.split(/\s+/).length <= 3) continue;
    totals.comments += 1;
    if (OPENING.test(prose)) totals.openings += 1;
    for (const sentence of prose.split(/(?<=[.;:?!])\s+/)) measureSentence(sentence, file, line);
  }
}

function measureSentence(sentence, file, line) {
  const words = sentence.split(/\s+/).length;
  if (words <= 2) return;
  const odd = sentence.match(ODD)?.length ?? 0;
  const ofIt = sentence.match(OF_IT)?.length ?? 0;
  const long = words > WORDS_MAX ? 1 : 0;
  totals.sentences += 1;
  totals.words += words;
  totals.odd += odd;
  totals.ofIt += ofIt;
  totals.long += long;
  const weight = 2 * odd + 2 * ofIt + 2 * long + (OPENING.test(sentence) ? 1 : 0);
  if (weight > 0) faults.push({ weight, file, line, text: sentence });
}

/** The comments of a file. Adjacent `//` lines are one comment. `line` counts from 1; `lines` are whole source lines. */
function commentsOf(source) {
  const file = ts.createSourceFile('file.ts', source, ts.ScriptTarget.Latest, true);
  const sourceLines = source.split('\n');
  const lineOf = (position) => file.getLineAndCharacterOfPosition(position).line;
  const comments = [];
  for (const { pos, end } of commentRanges(file, source)) {
    const first = lineOf(pos);
    const lines = sourceLines.slice(first, lineOf(end) + 1);
    const last = comments.at(-1);
    const continues = isLineComment(lines[0]) && last !== undefined && isLineComment(last.lines.at(-1));
    if (continues && last.line + last.lines.length === first + 1) {
      last.lines.push(...lines);
      last.text += `\n${source.slice(pos, end)}`;
    } else comments.push({ line: first + 1, lines, text: source.slice(pos, end) });
  }
  return comments;
}

function commentRanges(file, source) {
  const ranges = new Map();
  const collect = (node) => {
    const leading = ts.getLeadingCommentRanges(source, node.getFullStart()) ?? [];
    const trailing = ts.getTrailingCommentRanges(source, node.getEnd()) ?? [];
    for (const range of [...leading, ...trailing]) ranges.set(range.pos, range);
    node.getChildren(file).forEach(collect);
  };
  collect(file);
  return [...ranges.values()].sort((a, b) => a.pos - b.pos);
}

/** True for a line that has a `//` comment and no code. */
function isLineComment(line) {
  return line.trimStart().startsWith('//');
}

/** The words of a comment, without its markers and the names of its tags. */
function proseOf(text) {
  return text
    .split('\n')
    .map((line) => line.replace(/^\s*(\/\/|\/\*+|\*+(?!\/))|\*+\/\s*$/g, '').trim())
    .join(' ')
    .replace(/@\w+ ?/g, '')
    .trim();
}

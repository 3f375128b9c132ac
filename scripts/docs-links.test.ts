import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from '@jest/globals';

const ROOT = join(import.meta.dirname, '..');
const trackedFiles = (...patterns: string[]): string[] =>
  execFileSync('git', ['ls-files', ...patterns], { cwd: ROOT, encoding: 'utf8' })
    .trim()
    .split('\n');
const PAGES = trackedFiles('*.md');

const FENCED = /^(```|~~~)[^]*?^\1/gm;
const CODE_SPAN = /`[^`\n]*`/g;
/** `[text](target)`, `![text](target "title")` and `[name]: target`. */
const LINK = /\]\(\s*<?([^\s)>]+)>?(?:\s+"[^"]*")?\s*\)|^\[[^\]]+\]:\s+(\S+)/gm;
const HEADING = /^#{1,6} +(.+?)(?: +#+)?$/gm;
const ABSOLUTE = /^[a-z][a-z+.-]*:/i;

/** @param text Markdown. @returns the anchors of its headings, as GitHub writes them */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of text.replaceAll(FENCED, '').matchAll(HEADING)) {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = words.replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\s-]/gu, '').replaceAll(/\s/g, '-');
    let unique = anchor;
    for (let count = 1; anchors.has(unique); count += 1) unique = `${anchor}-${count}`;
    anchors.add(unique);
  }
  return anchors;
}

/** The relative links of a page that lead nowhere. */
function brokenLinks(page: string, text: string): string[] {
  const prose = text.replaceAll(FENCED, '').replaceAll(CODE_SPAN, '');
  const targets = [...prose.matchAll(LINK)].map(([, inline, reference = '']) => inline ?? reference);
  return targets.filter((target) => {
    if (ABSOLUTE.test(target)) return false;
    const [path = '', anchor = ''] = decodeURI(target).split('#');
    if (path === '') return !anchorsOf(text).has(anchor);
    const file = normalize(join(dirname(page), path));
    if (!existsSync(join(ROOT, file))) return true;
    return anchor !== '' && file.endsWith('.md') && !anchorsOf(read(file)).has(anchor);
  });
}

function read(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

test('every relative link of every page leads to a file, and its anchor to a heading', () => {
  const broken = PAGES.flatMap((page) => brokenLinks(page, read(page)).map((target) => `${page}: ${target}`));
  expect(broken).toEqual([]);
});

test('a link to a missing file or heading is found; code and other sites are not links of ours', () => {
  const text = `# One page\n## Two: \`words\`\n[a](#two-words) [b](#three) [c](gone.md) [d](https://a.example/#x)\n
\`[e](gone.md)\`\n\`\`\`\n[f](gone.md)\n\`\`\`\n![g](README.md "h") [i](README.md#gone)\n\n[j]: gone-too.md\n`;
  expect(brokenLinks('page.md', text)).toEqual(['#three', 'gone.md', 'README.md#gone', 'gone-too.md']);
});

test('every section of the contract that a file cites exists', () => {
  const sections = new Set(
    [...read('docs/contract.md').matchAll(/^#{2,3} (\d+(?:\.\d+)?)\.? /gm)].map(([, section]) => section),
  );
  const cited = trackedFiles('*.ts', '*.mjs', '*.md', '*.sql').flatMap((file) =>
    [...read(file).matchAll(/\bcontract (\d+(?:\.\d+)?)/g)].map(([, section = '']) => ({ file, section })),
  );
  expect(cited.length).toBeGreaterThan(50);
  expect(cited.filter(({ section }) => !sections.has(section))).toEqual([]);
});

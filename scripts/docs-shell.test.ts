import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const ROOT = join(import.meta.dirname, '..');

/** Lines of `sh` blocks with a comment after a command. A zsh takes pasted comments as arguments. */
function commentedCommands(text: string): string[] {
  return [...text.matchAll(/^ *```(?:sh|bash|shell|console)\n([^]*?)^ *```/gm)].flatMap(([, block = '']) =>
    block.split('\n').filter((line) => /^\s*[^\s#].*\s#(?:\s|$)/.test(line)),
  );
}

/** What `find` finds in all documents, with the name of the document. */
function inDocuments(find: (text: string) => readonly string[]): string[] {
  const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
  return pages.flatMap((page) =>
    find(readFileSync(join(ROOT, page), 'utf8')).map((line) => `${page}: ${line}`),
  );
}

test('no command to paste has a comment after it', () => {
  expect(inDocuments(commentedCommands)).toEqual([]);
});

// After `docker kill`, Docker does not restart the container any more (moby #41302).
test('no document sends a signal by `kill` of docker or compose', () => {
  expect(inDocuments((text) => text.match(/\bkill (?:-s|--signal)\b.*/g) ?? [])).toEqual([]);
});

test('a comment after a command is found, and a comment on a line of its own is not', () => {
  const text = '```sh\n# all of it\ncurl x # y\n  curl "$A#b"\n```\n\n   ```sh\n   ls   # z\n   ```\n';
  expect(commentedCommands(text)).toEqual(['curl x # y', '   ls   # z']);
});

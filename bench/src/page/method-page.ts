import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import type { Figure } from '../figure.ts';
import type { FigureResult } from '../result/result.ts';

type Described = Pick<Figure, 'id' | 'title' | 'group' | 'how'>;

/**
 * The page with the method of each figure.
 *
 * @param noted the ids of the figures that have a note
 */
export function methodPage(figures: readonly Described[], noted: readonly string[]): string {
  return `${[
    '# How the benchmark measures',
    'Made by `npm run bench -- --publish`; do not edit.',
    'This page describes how each figure of the current code is measured. A note says what limits the figure, and what ' +
      'was tried. [The results](benchmark-2-cores.md).',
    ...section('## Load', figures, 'load', noted),
    ...section('## Isolation', figures, 'isolation', noted),
  ].join('\n\n')}\n`;
}

function section(
  heading: string,
  figures: readonly Described[],
  group: FigureResult['group'],
  noted: readonly string[],
): string[] {
  const described = figures
    .filter((figure) => figure.group === group)
    .flatMap(({ id, title, how }) => {
      const link = `[Note: what limits it, and what was tried](../bench/notes/${id}.md)`;
      return [`### ${title}`, how, ...(noted.includes(id) ? [link] : [])];
    });
  return described.length === 0 ? [] : [heading, ...described];
}

/** @param folder contains one note per figure, such as `drain.md` */
export function notedFigures(folder: string): string[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.md') && name !== 'README.md');
  return files.map((name) => basename(name, '.md'));
}

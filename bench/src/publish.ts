import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { UsageError } from './arguments.ts';
import { methodPage, notedFigures } from './page/method-page.ts';
import { pageOf, plotsOf } from './page/page.ts';
import { plotSvg } from './page/plot.ts';
import { FIGURES } from './registry.ts';
import { resultSchema } from './result/result.ts';
import type { Result } from './result/result.ts';

/** A page of results: `name` is the name of the file `NAME.md` and of the folder beside it. */
export interface PagePlace {
  readonly folder: string;
  readonly name: string;
}

/**
 * Writes `NAME.md`, `NAME/result.json`, the plots of the page, and `benchmark-method.md`. Deletes the plots
 * that were there.
 *
 * @param notesFolder the folder of the notes about the figures
 */
export function writePage(measured: Result, { folder, name }: PagePlace, notesFolder: string): void {
  const result = rounded(measured);
  const assets = join(folder, name);
  mkdirSync(assets, { recursive: true });
  for (const file of readdirSync(assets)) if (file.endsWith('.svg')) rmSync(join(assets, file));
  for (const plot of plotsOf(result)) writeFileSync(join(assets, `${plot.id}.svg`), plotSvg(plot));
  writeFileSync(join(assets, 'result.json'), `${JSON.stringify(result, null, 1)}\n`);
  writeFileSync(join(folder, `${name}.md`), pageOf(result, { name }));
  writeFileSync(join(folder, 'benchmark-method.md'), methodPage(FIGURES, notedFigures(notesFolder)));
}

/** Rounds to six significant digits. More digits are noise, and people read the file, too. */
function rounded(result: Result): Result {
  const text = JSON.stringify(result, (_, value: unknown) =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value,
  );
  return resultSchema.parse(JSON.parse(text));
}

/**
 * The page that a result belongs to.
 *
 * @throws UsageError when there is no such page. `writePage` would delete the plots of another folder.
 */
export function placeOf(resultFile: string): PagePlace {
  const assets = dirname(resultFile);
  const place = { folder: dirname(assets), name: basename(assets) };
  if (basename(resultFile) !== 'result.json' || !existsSync(`${assets}.md`)) {
    throw new UsageError(
      `--page-of takes the result.json of a page, as docs/benchmark-2-cores/result.json, not '${resultFile}'`,
    );
  }
  return place;
}

/** @throws ZodError when the file is not a result of this format */
export function readResult(file: string): Result {
  return resultSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}

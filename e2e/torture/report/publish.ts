import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pageOf } from './page.ts';
import { recoveryPlot, repeatsPlot } from './plots.ts';
import type { TortureResult } from './result.ts';

/** Writes the page for the documentation, its plots, and the result they are made of. */
export function publish(result: TortureResult, docsFolder = 'docs'): void {
  const folder = join(docsFolder, 'torture');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(docsFolder, 'torture.md'), pageOf(result));
  writeFileSync(join(folder, 'recovery.svg'), recoveryPlot(result.experiments));
  writeFileSync(join(folder, 'repeats.svg'), repeatsPlot(result.experiments));
  writeFileSync(join(folder, 'result.json'), `${JSON.stringify(result, null, 2)}\n`);
}

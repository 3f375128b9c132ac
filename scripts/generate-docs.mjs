/** Writes the pages of docs/ that are made from the source. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generatedFiles } from './generated.mjs';
import { ROOT } from './workspace.mjs';

for (const { path, generate } of generatedFiles.filter(({ path }) => path.startsWith('docs/'))) {
  await writeFile(join(ROOT, path), await generate());
  console.log(`wrote ${path}`);
}

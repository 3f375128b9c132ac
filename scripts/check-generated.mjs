/** Compares every generated file with what its generator makes now; exit code 1 and a word on the remedy if they differ. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generatedFiles } from './generated.mjs';
import { ROOT } from './workspace.mjs';

for (const { path, regenerate, generate } of generatedFiles) {
  const committed = await readFile(join(ROOT, path), 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (committed === (await generate())) continue;
  console.error(
    `${path} ${committed === undefined ? 'is missing' : 'is out of date'}: run \`${regenerate}\``,
  );
  process.exitCode = 1;
}

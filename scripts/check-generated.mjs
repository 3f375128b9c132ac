/** Compares every generated file with its generator's output. Exits 1 and names the remedy if one differs. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bootstrap } from './bootstrap.mjs';
import { exitOnSetupError } from './setup-command.mjs';
import { ROOT } from './workspace.mjs';

await exitOnSetupError(bootstrap);
const { generatedFiles } = await import('./generated.mjs'); // needs the packages
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

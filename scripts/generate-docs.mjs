/** Writes every generated file except the dump of the schema. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bootstrap } from './bootstrap.mjs';
import { exitOnSetupError } from './setup-command.mjs';
import { ROOT } from './workspace.mjs';

await exitOnSetupError(bootstrap);
const { generatedFiles } = await import('./generated.mjs'); // needs the packages
for (const { path, generate } of generatedFiles.filter(({ path }) => !path.startsWith('prisma/'))) {
  await writeFile(join(ROOT, path), await generate());
  console.log(`wrote ${path}`);
}

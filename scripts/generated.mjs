import { join } from 'node:path';
import { build } from 'esbuild';
import { format, resolveConfig } from 'prettier';
import { schemaDump } from './dump-schema.mjs';
import { ROOT } from './workspace.mjs';

/**
 * Every committed file that a program makes.
 * @type {readonly { path: string, regenerate: string, generate: () => Promise<string> }[]}
 */
export const generatedFiles = [
  {
    path: 'docs/configuration.md',
    regenerate: 'node scripts/generate-docs.mjs',
    generate: configurationPage,
  },
  {
    path: 'prisma/schema.sql',
    regenerate: 'node scripts/dump-schema.mjs',
    generate: schemaDump,
  },
];

async function configurationPage() {
  const { configurationPage: page } = await importTypeScript('packages/runtime/src/config/docs.ts');
  return formatted('docs/configuration.md', page());
}

/** Node 20 reads no TypeScript: the module and what it imports are bundled in memory. */
async function importTypeScript(path) {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [path],
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
    logLevel: 'warning',
  });
  const source = Buffer.from(outputFiles[0].contents).toString('base64');
  return import(`data:text/javascript;base64,${source}`);
}

/** As `npm run format` would leave it. */
async function formatted(path, text) {
  const filepath = join(ROOT, path);
  return format(text, { ...(await resolveConfig(filepath)), filepath });
}

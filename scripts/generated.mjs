import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { bundle } from './build.mjs';
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
    path: 'docs/metrics.md',
    regenerate: 'node scripts/generate-docs.mjs',
    generate: metricsPage,
  },
  {
    path: 'docs/problems.md',
    regenerate: 'node scripts/generate-docs.mjs',
    generate: problemsPage,
  },
  {
    path: 'docs/cli.md',
    regenerate: 'node scripts/generate-docs.mjs',
    generate: cliPage,
  },
  {
    path: 'docs/openapi.json',
    regenerate: 'node scripts/generate-docs.mjs',
    generate: openApiDocument,
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

async function metricsPage() {
  const { metricsPage: page } = await importTypeScript('packages/runtime/src/metrics/docs.ts');
  return formatted('docs/metrics.md', page());
}

async function problemsPage() {
  const { problemsPage: page } = await importTypeScript('apps/api/src/docs/problems-page.ts');
  return formatted('docs/problems.md', page());
}

async function cliPage() {
  const { cliPage: page } = await importTypeScript('apps/cli/src/docs.ts');
  return formatted('docs/cli.md', page());
}

async function openApiDocument() {
  const { openApiDocument: document } = await importTypeScript('apps/api/src/docs/openapi.ts');
  return formatted('docs/openapi.json', JSON.stringify(document()));
}

/** Node 20 reads no TypeScript: the module and what it imports are bundled into a file that is gone afterwards. */
async function importTypeScript(path) {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-docs-'));
  const outfile = join(folder, 'bundle.mjs');
  try {
    await bundle({ entryPoints: [path], outfile });
    return await import(pathToFileURL(outfile).href);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** As `npm run format` would leave it. */
async function formatted(path, text) {
  const filepath = join(ROOT, path);
  return format(text, { ...(await resolveConfig(filepath)), filepath });
}

import { join } from 'node:path';
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
  const { configurationPage: page } = await import('../packages/runtime/src/config/docs.ts');
  return formatted('docs/configuration.md', page());
}

async function metricsPage() {
  const { metricsPage: page } = await import('../packages/runtime/src/metrics/docs.ts');
  return formatted('docs/metrics.md', page());
}

async function problemsPage() {
  const { problemsPage: page } = await import('../apps/api/src/docs/problems-page.ts');
  return formatted('docs/problems.md', page());
}

async function cliPage() {
  const { cliPage: page } = await import('../apps/cli/src/docs.ts');
  return formatted('docs/cli.md', page());
}

async function openApiDocument() {
  const { openApiDocument: document } = await import('../apps/api/src/docs/openapi.ts');
  return formatted('docs/openapi.json', JSON.stringify(document()));
}

/** Formats as `npm run format` does. */
async function formatted(path, text) {
  const filepath = join(ROOT, path);
  return format(text, { ...(await resolveConfig(filepath)), filepath });
}

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { SetupError } from './setup-command.mjs';
import { ROOT } from './workspace.mjs';

const SOURCE = join(ROOT, 'packages', 'receiver');
const COMPILER = join(ROOT, 'node_modules', 'typescript7', 'bin', 'tsc');

/** The program of `npx --no -- @postrider/receiver`, in the package. */
const PROGRAM = 'esm/cli/main.js';

/** CommonJS is emitted from the same modules. `verbatimModuleSyntax` would refuse that. */
const COMMONJS = ['--module', 'commonjs', '--moduleResolution', 'bundler', '--verbatimModuleSyntax', 'false'];

const COPIED = ['README.md', 'vectors.json', 'examples'];

/** The files and folders that the build of the package reads, beside its sources and its package.json. */
export const RECEIVER_INPUTS = [
  ...[...COPIED, 'tsconfig.build.json'].map((name) => join('packages', 'receiver', name)),
  'LICENSE',
  join('scripts', 'build-receiver.mjs'),
];

/**
 * Makes the folder that `npm pack` and `npm publish` take: ES modules, CommonJS and types. Nothing of the workspace
 * is left in its package.json.
 *
 * @param target replaced as a whole
 */
export function buildReceiver(target) {
  const draft = mkdtempSync(`${target}.new-`);
  try {
    compile(draft, 'esm', []);
    compile(draft, 'cjs', COMMONJS);
    writeJson(join(draft, 'cjs', 'package.json'), { type: 'commonjs' });
    rmSync(join(draft, 'cjs', 'cli'), { recursive: true });
    chmodSync(join(draft, PROGRAM), 0o755);
    for (const name of COPIED) cpSync(join(SOURCE, name), join(draft, name), { recursive: true });
    copyFileSync(join(ROOT, 'LICENSE'), join(draft, 'LICENSE'));
    writeJson(join(draft, 'package.json'), manifest());
    chmodSync(draft, 0o755);
    rmSync(target, { recursive: true, force: true });
    renameSync(draft, target);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function compile(draft, folder, options) {
  const outDir = join(draft, folder);
  const args = [COMPILER, '-p', join(SOURCE, 'tsconfig.build.json'), '--outDir', outDir, ...options];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new SetupError(`packages/receiver does not compile: ${stdout.trim()}`);
  for (const name of readdirSync(outDir, { recursive: true }).filter((each) => each.endsWith('.d.ts'))) {
    // The compiler rewrites the imports of the code and leaves those of the types.
    const types = readFileSync(join(outDir, name), 'utf8').replace(/(from '\.[^']*)\.ts'/g, "$1.js'");
    writeFileSync(join(outDir, name), types);
  }
}

function manifest() {
  const { name, version, description, license, type, sideEffects, engines } = readJson(SOURCE);
  const { repository, bugs } = readJson(ROOT);
  return {
    name,
    version,
    description,
    license,
    repository,
    bugs,
    type,
    sideEffects,
    engines,
    bin: { 'postrider-receiver': PROGRAM },
    main: './cjs/index.js',
    types: './cjs/index.d.ts',
    typesVersions: { '*': { web: ['./cjs/web.d.ts'] } }, // for compilers that do not read `exports`
    exports: { '.': entry('index'), './web': entry('web'), './vectors.json': './vectors.json' },
    publishConfig: { access: 'public' },
  };
}

function entry(name) {
  const of = (folder) => ({ types: `./${folder}/${name}.d.ts`, default: `./${folder}/${name}.js` });
  return { import: of('esm'), require: of('cjs') };
}

function readJson(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}

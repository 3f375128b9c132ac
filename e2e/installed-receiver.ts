import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import { DIST, endsWithUs, runNode, setup, waitFor } from '@postrider/testing';

/* The package for customers, as they get it: packed by npm, installed from the file, without a registry. */

const RECEIVER = fileURLToPath(new URL('../packages/receiver/', import.meta.url));

export interface InstalledReceiver {
  readonly folder: string;
  /** The customer's folder, where the package is installed. */
  readonly app: string;
  readonly tarball: string;
  /** The paths in the packed file. */
  readonly files: readonly string[];
}

/** Registers hooks: the package for the test file, as a customer gets it. */
export function setupInstalledReceiver(): InstalledReceiver {
  return setup(install, async ({ folder }) => rmSync(folder, { recursive: true }));
}

/** Packs the package and installs it in the empty folder `app`, with the examples and their frameworks. */
async function install(): Promise<InstalledReceiver> {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-receiver-'));
  const app = join(folder, 'app');
  mkdirSync(app);
  write(app, 'package.json', '{ "name": "app", "private": true }');
  const packed = await npm(folder, 'pack', join(DIST, 'receiver'), '--json');
  const [{ filename, files }] = JSON.parse(packed) as [{ filename: string; files: { path: string }[] }];
  const tarball = join(folder, filename);
  await npm(app, 'install', '--offline', '--cache', join(folder, 'cache'), '--no-audit', tarball);
  cpSync(join(app, 'node_modules/@postrider/receiver/examples'), app, { recursive: true });
  mkdirSync(join(app, 'node_modules/@hono'));
  for (const name of ['express', 'fastify', 'hono', '@hono/node-server'])
    symlinkSync(realpathSync(join(RECEIVER, 'node_modules', name)), join(app, 'node_modules', name));
  return { folder, app, tarball, files: files.map(({ path }) => path) };
}

// Imported by URL, because TypeScript has no types for a script.
const { npmTool } = (await import(new URL('../scripts/setup-command.mjs', import.meta.url).href)) as {
  npmTool: (name: string, args: readonly string[]) => [command: string, args: string[]];
};

/** @returns what npm prints on stdout */
async function npm(cwd: string, ...args: string[]): Promise<string> {
  return runTool('npm', cwd, args);
}

/** @returns what npx prints on stdout */
export async function npx(cwd: string, ...args: string[]): Promise<string> {
  return runTool('npx', cwd, args);
}

async function runTool(name: 'npm' | 'npx', cwd: string, args: readonly string[]): Promise<string> {
  const [command, commandArgs] = npmTool(name, args);
  const child = spawn(command, commandArgs, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code !== 0) throw new Error(`${name} ${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}

/** Writes a file. @returns its path */
export function write(folder: string, name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** Runs a program that is written into the customer's folder. @returns what it prints, as JSON */
export async function runProgram(
  { app }: InstalledReceiver,
  name: string,
  content: string,
): Promise<unknown> {
  const { code, stdout, stderr } = await runNode([write(app, name, content)], { cwd: app });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

export interface Started {
  /** The lines on stdout so far. */
  readonly output: () => string[];
  readonly stop: () => Promise<void>;
}

/** A program in the customer's folder. The test must stop it. At the latest it ends with Jest. */
export function start(
  { app }: InstalledReceiver,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Started {
  const child = spawn(process.execPath, args, {
    cwd: app,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  endsWithUs(child);
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  const stop = async () => {
    const ended = once(child, 'close');
    child.kill();
    await ended;
  };
  return { output: () => stdout.split('\n').slice(0, -1), stop };
}

/** An example of the package, which prints its URL. */
export async function startExample(
  installed: InstalledReceiver,
  example: string,
  secret: string,
): Promise<Started & { url: string }> {
  const started = start(installed, example.split(' '), { PORT: '0', POSTRIDER_WEBHOOK_SECRET: secret });
  const url = await waitFor(() => started.output()[0], { what: `${example} to listen` });
  return { ...started, url };
}

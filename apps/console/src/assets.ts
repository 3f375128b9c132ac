import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RequestHandler } from 'express';

const TYPES = { 'style.css': 'text/css', 'console.js': 'text/javascript' } as const;

/** Serves a file of the pages. In a bundle, the folder of the files is beside the bundle. */
export function serveAsset(name: keyof typeof TYPES): RequestHandler {
  const text = readFileSync(join(import.meta.dirname, 'console-assets', name), 'utf8');
  return (_request, response) => {
    response.type(`${TYPES[name]}; charset=utf-8`).send(text);
  };
}

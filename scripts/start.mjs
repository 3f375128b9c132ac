import { runApp } from './run.mjs';

await runApp('quickstart', process.argv.slice(2));

import { serveRole } from './role-process.ts';
import type { Commands } from './role-process.ts';

// The program is dist/bench-role.js: a process of the benchmark. Each process loads only what its role needs.
serveRole(await commandsOf(process.argv[2] ?? ''));

async function commandsOf(role: string): Promise<Commands> {
  switch (role) {
    case 'receiver':
      return (await import('./receiver.ts')).receiverCommands();
    case 'bare':
      return (await import('./bare-posts.ts')).bareCommands();
    case 'bare-express':
      return (await import('./bare-express.ts')).bareExpressCommands();
    case 'api-layers':
      return (await import('./api-layers.ts')).apiLayersCommands();
    case 'bare-smtp':
      return (await import('./bare-smtp.ts')).bareSmtpCommands();
    case 'caller':
      return (await import('./caller.ts')).callerCommands(
        process.env['BENCH_DATABASE_URL'] ?? '',
        Number(process.env['BENCH_CONNECTIONS']),
      );
    default:
      throw new Error(`there is no role ${role}`);
  }
}

import { FULL } from '../sizes.ts';
import { recoveryFigure } from './recovery-figure.ts';

export const frozenWorker = recoveryFigure({
  id: 'frozen-worker',
  title: 'Recovery after a worker was frozen',
  how: `Under load the only worker is stopped by SIGSTOP for ${FULL.recovery.stumbleSeconds} seconds, then continued.`,
  cold: false,
  async stumble({ processes }, { recovery }) {
    const worker = processes.find(({ name }) => name === 'worker');
    if (worker === undefined) throw new Error('no worker runs');
    process.kill(worker.pid, 'SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, recovery.stumbleSeconds * 1000));
    process.kill(worker.pid, 'SIGCONT');
  },
});

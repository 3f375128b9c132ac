import fc from 'fast-check';
import { copyHistory, restoreHistory } from './copied-history.ts';
import { alone, pause, story, together, turn } from './plans.ts';
import type { Pause, Round, Story, Turn } from './plans.ts';
import { passTime, runRound } from './round.ts';
import type { State } from './state.ts';
import type { World } from './world.ts';

/** fast-check hands the same model to each command: the state that the model is in. */
export interface Model {
  state: State;
  /** The state that the copy of the database is in. */
  copied: State;
}

type Command = fc.AsyncCommand<Model, World>;

export function commandOf(steps: Story): Command {
  return {
    check: () => true,
    run: async (model, world) => {
      for (const step of steps) await runStep(model, world, step);
    },
    toString: () => steps.map(shown).join(', then '),
  };
}

async function runStep(model: Model, world: World, step: Story[number]): Promise<void> {
  if ('ticks' in step) {
    model.state = await passTime(world, model.state, step.ticks);
  } else if ('threads' in step) {
    model.state = await runRound(world, model.state, step);
  } else if (step.history === 'copied') {
    await copyHistory(world.database);
    model.copied = model.state;
  } else {
    world.order = await restoreHistory(world.database);
    model.state = model.copied;
    world.tally.historyRestored += 1;
  }
}

function shown(step: Round | Pause | Turn): string {
  if ('history' in step) return `history is ${step.history}`;
  if ('ticks' in step) return `${step.ticks} ticks pass`;
  const threads = step.threads.map((plan) => JSON.stringify(plan)).join(' | ');
  return step.gate !== null ? `behind a gate of ${step.gate}: ${threads}` : threads;
}

/** @param replayPath as fast-check prints it with a counterexample. */
export function protocolCommands(replayPath: string | undefined): fc.Arbitrary<Iterable<Command>> {
  const single = fc.oneof(
    { weight: 4, arbitrary: alone },
    { weight: 5, arbitrary: together },
    { weight: 2, arbitrary: pause },
    { weight: 1, arbitrary: turn },
  );
  const commands = [
    single.map((step) => commandOf([step])),
    single.map((step) => commandOf([step])),
    single.map((step) => commandOf([step])),
    story.map(commandOf),
  ];
  return fc.commands(commands, {
    maxCommands: 30,
    size: 'max',
    ...(replayPath === undefined ? {} : { replayPath }),
  });
}

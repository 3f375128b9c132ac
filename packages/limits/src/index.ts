export { BlockBuffer } from './block-buffer.ts';
export { ByteBudget } from './byte-budget.ts';
export { FairByteBudget } from './fair-byte-budget.ts';
export type { BodyBytes } from './fair-byte-budget.ts';
export { KeyedQueue } from './keyed-queue.ts';
export type { Slot } from './keyed-queue.ts';
export { networkOf } from './network-of.ts';
export { Semaphore } from './semaphore.ts';
export { settlesWithin, within } from './within.ts';

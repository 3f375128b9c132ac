export { answerJobs, type Handover } from './answer-jobs.ts';
export { createThreadPool, type ThreadPool, type ThreadPoolOptions } from './thread-pool.ts';
export { withResolvers } from './with-resolvers.ts';

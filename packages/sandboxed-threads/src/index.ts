export { answerJobs, type Transfer } from './answer-jobs.ts';
export { ThreadPool, type ThreadPoolOptions } from './thread-pool.ts';

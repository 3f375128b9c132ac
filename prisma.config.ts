import { defineConfig } from 'prisma/config';

// Only `prisma generate` is run in this project; migrations are applied by `npm run migrate`.
export default defineConfig({ schema: 'prisma/schema.prisma', migrations: { path: 'prisma/migrations' } });

import { createServer } from 'node:http';
import { listen } from '@postrider/testing';
import express from 'express';
import { Pool } from 'pg';

export interface BareExpressCommands extends Record<string, (argument: never) => unknown> {
  /**
   * @param databaseUrl the database for `POST /v1/suppressions`. Null: the route does not exist.
   * @returns the port on 127.0.0.1
   */
  readonly listen: (databaseUrl: string | null) => Promise<number>;
}

/**
 * The yardstick: Express routes that only parse the JSON of a request and answer with an id. The route of
 * suppressions also inserts one row.
 */
export function bareExpressCommands(): BareExpressCommands {
  return {
    async listen(databaseUrl) {
      const app = express();
      app.use(express.json({ limit: '8mb' }));
      let answered = 0;
      app.post('/v1/emails', (request, response) => {
        const { from } = request.body as { from: string };
        response.json({ id: `em_bare_${from.length}_${++answered}` });
      });
      if (databaseUrl !== null) {
        const insert = await insertInto(databaseUrl);
        app.post('/v1/suppressions', async (request, response) => {
          const { email } = request.body as { email: string };
          response.status(201).json({ object: 'suppression', id: await insert(email) });
        });
      }
      return (await listen(createServer(app))).port;
    },
  };
}

/** One prepared statement, committed to disk, on 10 connections. The API has 10, of them 7 for its stores. */
async function insertInto(databaseUrl: string): Promise<(email: string) => Promise<string>> {
  const pool = new Pool({ connectionString: databaseUrl, max: 10 });
  await pool.query('create table bench_inserts (id text primary key, email text not null)');
  let inserted = 0;
  return async (email) => {
    const id = `bare_${(inserted += 1)}`;
    const text = 'insert into bench_inserts (id, email) values ($1, $2)';
    await pool.query({ name: 'insert', text, values: [id, email] });
    return id;
  };
}

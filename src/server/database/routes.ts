/**
 * A database over HTTP, for looking only, under `/database`: the verbs of the command ask here when
 * a process has the directory open elsewhere. For administrators.
 */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  CellarError,
  ErrorCode,
  hasCode,
  invalidArgument,
  type JsonSchema,
} from '../../api/index.js'
import { addRoutes, operationId, type Route } from '../../http/operations.js'
import { ServerErrorCode, withStatus } from '../../http/errors.js'
import { finderOf, type ServerSystem, type Source } from '../../http/server-system.js'
import { toJson } from './json.js'
import {
  parseCount,
  viewOf,
  type DatabaseView,
  type ReadWords,
  type SeenDatabase,
} from './views.js'

/** Checks of the directory of a database, which need the engine itself. */
export interface DirectoryChecks {
  /** Reads everything and lists all problems: `Database.verify`. */
  readonly verify: (directory: string, options: { bytesPerSecondMax?: number }) => Promise<object>
}

/** Lines of JSON. */
const lines = 'application/x-ndjson'

interface Call {
  readonly database: SeenDatabase
  readonly view: DatabaseView
  readonly reply: FastifyReply
  readonly params: Readonly<Record<'table' | 'row', string>>
  readonly query: Readonly<Record<string, string>>
}

/**
 * The routes of a database, for a `CellarServer`; the source returns nothing while another process
 * leads. `ERR_INVALID_ARGUMENT`.
 */
export function databaseRoutes(
  source: Source<SeenDatabase>,
  checks: DirectoryChecks,
): ServerSystem {
  const find = finderOf(source, 'the database', ['statistics', 'listTables'])
  const callOf = (request: FastifyRequest, reply: FastifyReply): Call => {
    const database = find()
    if (database === undefined) {
      const message = 'another process has the database open'
      throw withStatus(503, new CellarError(ServerErrorCode.failed, message))
    }
    const params = request.params as Call['params']
    return {
      database,
      view: viewOf(database),
      reply,
      params,
      query: request.query as Call['query'],
    }
  }
  return {
    name: 'database',
    register: (app) => addRoutes(app, '/database', routesOf(checks), callOf),
  }
}

function routesOf({ verify }: DirectoryChecks): Route<Call>[] {
  return [
    get('/tables', 'list tables', ({ view }) => view.tables()),
    get('/statistics', 'database statistics', ({ view }) => view.statistics()),
    get('/tables/:table', 'describe table', ({ view, params }) => view.describe(params.table)),
    get('/tables/:table/count', 'count rows', scanQuery, async ({ view, params, query }) => {
      return { table: params.table, rows: await view.count(params.table, scanWords(query)) }
    }),
    get('/tables/:table/rows/:row', 'get row', readQuery, async ({ view, params, query }) => {
      return (await view.row(params.table, params.row, readWords(query))) ?? null
    }),
    {
      ...get('/tables/:table/rows', 'scan rows', scanQuery, () => undefined),
      mediaType: lines,
      run: async ({ view, params, query, reply }) => {
        const rows = view.rows(params.table, scanWords(query))[Symbol.asyncIterator]()
        // The first row shows whether table, columns and options are right.
        const first = await refused(() => rows.next())
        void reply.type(lines)
        return Readable.from(
          (async function* () {
            for (let next = first; next.done !== true; next = await rows.next()) {
              yield `${toJson(next.value)}\n`
            }
          })(),
        )
      },
    },
    get('/verify', 'verify database', { bytesPerSecond: text }, ({ database, query }) => {
      const { bytesPerSecond: word } = query
      const options =
        word === undefined ? {} : { bytesPerSecondMax: parseCount(word, 'bytesPerSecond') }
      return verify(database.directory, options)
    }),
  ]
}

const text: JsonSchema = { type: 'string' }
const flag: JsonSchema = { type: 'string', enum: ['true'] }
const readQuery = {
  columns: { ...text, description: 'families and columns, as JSON' },
  versions: text,
  timeRange: text,
  filter: text,
}
const scanQuery = {
  ...readQuery,
  ...{ from: text, to: text, prefix: text, limit: text, reversed: flag, raw: flag },
}

function readWords({ columns, ...words }: Call['query']): ReadWords {
  if (columns === undefined) return words
  try {
    return { ...words, columns: JSON.parse(columns) as string[] }
  } catch {
    throw invalidArgument('columns must be JSON')
  }
}

function scanWords({ reversed, raw, ...words }: Call['query']): ReadWords {
  const flags = { reversed: reversed === 'true', raw: raw === 'true' }
  return { ...readWords(words), ...flags }
}

type Answer = (call: Call) => object | null | undefined | Promise<object | null>

/** A route whose answer is JSON. */
function get(path: string, summary: string, run: Answer): Route<Call>
function get(
  path: string,
  summary: string,
  query: Readonly<Record<string, JsonSchema>>,
  run: Answer,
): Route<Call>
function get(
  path: string,
  summary: string,
  query: Readonly<Record<string, JsonSchema>> | Answer,
  run?: Answer,
): Route<Call> {
  const answer = typeof query === 'function' ? query : run!
  const answers = { 200: summary, 400: 'ERR_INVALID_ARGUMENT', 404: 'ERR_TABLE_NOT_FOUND' }
  return {
    ...{ at: `get ${path}`, id: operationId(summary), summary, answers },
    ...(typeof query === 'object' && { query }),
    run: async (call) => {
      const value = await refused(async () => answer(call))
      void call.reply.type('application/json')
      return toJson(value)
    },
  }
}

/** Names of tables and families come from the request. */
async function refused<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (hasCode(error, ErrorCode.tableNotFound)) throw withStatus(404, error)
    throw hasCode(error, ErrorCode.noSuchColumnFamily) ? withStatus(400, error) : error
  }
}

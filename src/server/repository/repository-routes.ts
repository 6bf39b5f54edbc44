/**
 * The content repository over HTTP, under `/repository`, after the REST interface of Lily.
 *
 * The routes of records exist in four forms: `/x`, `/table/{table}/x`, `/{repository}/x` and
 * `/{repository}/table/{table}/x`. Bodies and answers are JSON, blobs are streams.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { checked, declareOptions, number, type OptionsOf } from '../../api/index.js'
import { RepositoryError, RepositoryErrorCode } from '../../systems/repository/index.js'
import { FieldNames } from './field-names.js'
import { invalidArgument, withStatus } from '../http/http-errors.js'
import { downloadBlob, uploadBlob } from './repository-blobs.js'
import { Call, managerOf, type CallParts, type RepositorySource } from './repository-call.js'
import { IndexHandlers, type IndexesSource } from './repository-indexes.js'
import { RepositoryCounters, type MaintenanceSource } from './repository-metrics.js'
import { pagePaths, registerPage } from './repository-page.js'
import { repositoryPaths, repositorySchemas } from './repository-paths.js'
import {
  createRecord,
  deleteRecord,
  diffVersions,
  listVariants,
  listVersions,
  postRecord,
  putRecord,
  putVersion,
  readRecord,
  readTagged,
  readVersion,
} from './repository-records.js'
import { closeScan, nextOfScan, openScan } from './repository-scans.js'
import {
  createFieldType,
  createRecordType,
  listFieldTypes,
  listRecordTypes,
  putFieldType,
  putRecordType,
  readFieldType,
  readRecordType,
  type By,
} from './repository-schema.js'
import {
  createRepository,
  createTable,
  deleteRepository,
  dropTable,
  listRepositories,
  listTables,
} from './repository-tables.js'
import type { ServerSystem } from '../server-system.js'
import { finderOf } from '../source.js'

const routesOptions = declareOptions('the routes of a repository', {
  /** The indexes for searches; the caller closes them. Default: none. */
  indexes: checked((source: IndexesSource, what) => finderOf(source, what, ['list', 'index'])),
  /** The maintenance of the repositories, for metrics and `/health`; the caller closes it. */
  maintenance: checked((source: MaintenanceSource, what) => finderOf(source, what, ['run'])),
  /** Most bytes of an uploaded blob. Default 10 GiB. */
  blobBytesMax: number({ min: 0, default: 10 * 2 ** 30 }),
})

/** Options of {@link repositoryRoutes}. */
export interface RepositoryRoutesOptions extends OptionsOf<typeof routesOptions> {}

type Method = 'get' | 'put' | 'post' | 'delete'
type Handler = (call: Call) => Promise<unknown>

const base = '/repository'
const repositoryForms = ['', '/:repository']
const forms = ['', '/table/:table', '/:repository', '/:repository/table/:table']

/** Routes below each form. */
const recordRoutes: readonly (readonly [Method, string, Handler])[] = [
  ['get', '/record/:id', readRecord],
  ['put', '/record/:id', putRecord],
  ['post', '/record/:id', postRecord],
  ['delete', '/record/:id', deleteRecord],
  ['post', '/record', createRecord],
  ['get', '/record/:id/version', listVersions],
  ['get', '/record/:id/version/:version', readVersion],
  ['put', '/record/:id/version/:version', putVersion],
  ['get', '/record/:id/vtag/:tag', readTagged],
  ['get', '/record/:id/variant', listVariants],
  ['get', '/record/:id/diff', diffVersions],
  ['get', '/record/:id/field/:field/data', downloadBlob],
  ['get', '/record/:id/version/:version/field/:field/data', downloadBlob],
  ['post', '/scan', openScan],
  ['get', '/scan/:scanner', nextOfScan],
  ['delete', '/scan/:scanner', closeScan],
]

const tableRoutes: readonly (readonly [Method, string, Handler])[] = [
  ['get', '/table', listTables],
  ['post', '/table', createTable],
  ['delete', '/table/:name', dropTable],
]

const globalRoutes: readonly (readonly [Method, string, Handler])[] = [
  ['get', '/repositories', listRepositories],
  ['post', '/repositories', createRepository],
  ['delete', '/repositories/:name', deleteRepository],
]

function schemaRoutes(suffix: string, by: By): (readonly [Method, string, Handler])[] {
  const fieldType = `/schema/fieldType${suffix}`
  const recordType = `/schema/recordType${suffix}`
  return [
    ['get', fieldType, listFieldTypes],
    ['post', fieldType, (call) => createFieldType(call, by)],
    ['get', `${fieldType}/:type`, (call) => readFieldType(call, by)],
    ['put', `${fieldType}/:type`, (call) => putFieldType(call, by)],
    ['get', recordType, listRecordTypes],
    ['post', recordType, (call) => createRecordType(call, by)],
    ['get', `${recordType}/:type`, (call) => readRecordType(call, by)],
    ['get', `${recordType}/:type/version/:version`, (call) => readRecordType(call, by)],
    ['put', `${recordType}/:type`, (call) => putRecordType(call, by)],
  ]
}

function indexRoutes(handlers: IndexHandlers): (readonly [Method, string, Handler])[] {
  return [
    ['get', '', (call) => handlers.list(call)],
    ['post', '', (call) => handlers.create(call)],
    ['get', '/:name', (call) => handlers.read(call)],
    ['put', '/:name', (call) => handlers.update(call)],
    ['delete', '/:name', (call) => handlers.remove(call)],
    ['get', '/:name/search', (call) => handlers.search(call)],
    ['get', '/:name/failures', (call) => handlers.failures(call)],
    ['post', '/:name/failures', (call) => handlers.retryFailures(call)],
  ]
}

/**
 * The routes of the repositories of a manager, which the caller closes. Every request calls the
 * source; while it has no manager the status is 503. `ERR_INVALID_ARGUMENT`.
 */
export function repositoryRoutes(
  source: RepositorySource,
  options: RepositoryRoutesOptions = {},
): ServerSystem {
  const { blobBytesMax, ...parts } = routesOptions.read(options)
  const manager = finderOf(source, 'the repository', ['repository', 'listRepositories'])
  const finders = { ...parts, manager }
  const counters = new RepositoryCounters(finders)
  return {
    name: 'repository',
    paths: repositoryPaths(),
    schemas: repositorySchemas,
    sharedPrefix: base,
    publicPaths: pagePaths,
    metrics: () => counters.text(),
    health: () => counters.health(),
    register: (app, { principals }) => {
      const partsOf = async (): Promise<CallParts> => {
        const manager = managerOf(finders.manager)
        const fieldNames = principals.length === 0 ? undefined : await FieldNames.of(manager)
        await fieldNames?.bind(principals)
        return { manager, fieldNames }
      }
      // Names in the rules are bound at the start of the server, not at the first request.
      app.addHook('onReady', async () => {
        await partsOf().catch(ifClosed)
      })
      const methods = new Map<string, Method[]>()
      const add = (
        path: string,
        [method, end, handler]: readonly [Method, string, Handler],
      ): void => {
        const url = `${base}${path}${end}`
        methods.set(url, [...(methods.get(url) ?? []), method])
        app[method](url, (request, reply) => run(request, reply, handler))
      }
      const run = async (
        request: FastifyRequest,
        reply: FastifyReply,
        handler: Handler,
      ): Promise<unknown> => {
        reply.raw.once('close', () => counters.count(request.method, reply.statusCode))
        return handler(new Call(await partsOf(), request, reply))
      }
      for (const form of forms) for (const route of recordRoutes) add(form, route)
      for (const form of repositoryForms) for (const route of tableRoutes) add(form, route)
      for (const route of globalRoutes) add('', route)
      for (const route of indexRoutes(new IndexHandlers(finders.indexes))) add('/index', route)
      registerPage(app)
      for (const route of [...schemaRoutes('', 'name'), ...schemaRoutes('ById', 'id')])
        add('', route)
      for (const form of forms) methods.set(`${base}${form}/blob`, ['post'])
      for (const [url, known] of methods) refuseOthers(app, url, known)
      void app.register(async (scope) => {
        registerUploads(scope, (request, reply) => {
          return run(request, reply, (call) => uploadBlob(call, blobBytesMax))
        })
      })
    },
  }
}

/** Answers other methods of an address with 405, and `OPTIONS` with the allowed methods. */
function refuseOthers(app: FastifyInstance, url: string, known: readonly Method[]): void {
  const allowed: string[] = known.flatMap((method) => {
    return method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]
  })
  const allow = [...allowed, 'OPTIONS'].join(', ')
  app.options(url, async (_request, reply) => reply.code(204).header('allow', allow).send())
  const others = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'PATCH'].filter((method) => {
    return !allowed.includes(method)
  })
  app.route({
    method: others,
    url,
    handler: (request, reply) => {
      const problem = invalidArgument(`${request.method} is none of ${allow}`)
      void reply.header('allow', allow)
      throw withStatus(405, problem)
    },
  })
}

/** Ignores the error of a closed repository: another process may still lead. */
function ifClosed(error: unknown): void {
  if (error instanceof RepositoryError && error.code === RepositoryErrorCode.closed) return
  throw error
}

/** Uploads are streams, so their bodies are not buffered. */
function registerUploads(
  scope: FastifyInstance,
  upload: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  for (const form of forms) scope.post(`${base}${form}/blob`, upload)
}

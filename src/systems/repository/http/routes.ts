/**
 * The content repository over HTTP, under `/repository`, after the REST interface of Lily.
 *
 * The routes of records exist in four forms: `/x`, `/table/{table}/x`, `/{repository}/x` and
 * `/{repository}/table/{table}/x`. Bodies and answers are JSON, blobs are streams.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { checked, declareOptions, number, type OptionsOf } from '../../../api/index.js'
import { hasCode, repositoryError } from '../errors.js'
import { FieldNames } from './field-names.js'
import { addRoutes } from '../../../http/operations.js'
import { finderOf, type ServerSystem } from '../../../http/server-system.js'
import { blobRoutes, uploadRoute } from './blobs.js'
import { Call, type CallParts, type RepositorySource } from './call.js'
import { indexRoutes, type IndexesSource } from './indexes.js'
import { RepositoryCounters, type MaintenanceSource } from './metrics.js'
import type { Route } from './declarations.js'
import { pagePaths, registerPage } from '../../../http/page.js'
import { recordRoutes } from './records.js'
import { scanRoutes } from './scans.js'
import { schemaRoutes } from './schema.js'
import { repositoryListRoutes, tableRoutes } from './tables.js'

const routesOptions = declareOptions('the routes of a repository', {
  /** The indexes for searches; the caller closes them. Default: none. */
  indexes: checked((source: IndexesSource, what) => finderOf(source, what, ['list', 'index'])),
  /** The maintenance of the repositories, for metrics and `/health`; the caller closes it. */
  maintenance: checked((source: MaintenanceSource, what) => finderOf(source, what, ['run'])),
  /** Most bytes of an uploaded blob. Default 10 GiB. */
  blobBytesMax: number({ min: 0, default: 10 * 2 ** 30 }),
})

const pagePath = '/repository/ui'

/** Options of {@link repositoryRoutes}. */
export interface RepositoryRoutesOptions extends OptionsOf<typeof routesOptions> {}

const base = '/repository'

/** The forms of addresses, each with the suffix of its operation ids. */
const repositoryForms = { '': '', '/:repository': 'InRepository' }
const forms = {
  ...repositoryForms,
  '/table/:table': 'InTable',
  '/:repository/table/:table': 'InRepositoryTable',
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
    sharedPrefix: base,
    publicPaths: pagePaths(pagePath),
    metrics: () => counters.text(),
    health: () => counters.health(),
    register: (app, { principals }) => {
      const partsOf = async (): Promise<CallParts> => {
        const manager = finders.manager()
        if (manager === undefined) {
          throw repositoryError('closed', 'another process serves the repository')
        }
        const fieldNames = principals.length === 0 ? undefined : await FieldNames.of(manager)
        await fieldNames?.bind(principals)
        return { manager, fieldNames }
      }
      // Names in the rules are bound at the start of the server, not at the first request.
      app.addHook('onReady', async () => {
        await partsOf().catch((error: unknown) => {
          // Another process may still lead.
          if (!hasCode(error, 'closed')) throw error
        })
      })
      const callOf = async (request: FastifyRequest, reply: FastifyReply): Promise<Call> => {
        reply.raw.once('close', () => counters.count(request.method, reply.statusCode))
        return new Call(await partsOf(), request, reply)
      }
      const routes = [
        ...placed(forms, [...recordRoutes, ...blobRoutes, ...scanRoutes]),
        ...placed(repositoryForms, tableRoutes),
        ...repositoryListRoutes,
        ...indexRoutes(finders.indexes),
        ...schemaRoutes,
      ]
      addRoutes(app, base, routes, callOf)
      registerPage(app, pagePath)
      const uploads = placed(forms, [uploadRoute(blobBytesMax)])
      void app.register(async (scope) => {
        // Uploads are streams, so their bodies are not buffered.
        scope.removeAllContentTypeParsers()
        scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
        addRoutes(scope, base, uploads, callOf)
      })
    },
  }
}

function placed(inForms: Readonly<Record<string, string>>, routes: readonly Route[]): Route[] {
  return Object.entries(inForms).flatMap(([form, suffix]) => {
    return routes.map((route) => {
      return { ...route, at: route.at.replace(' ', ` ${form}`), id: `${route.id}${suffix}` }
    })
  })
}

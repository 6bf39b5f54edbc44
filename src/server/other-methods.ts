/**
 * Requests with a method that their address does not have: 405, with the allowed methods in the
 * header `Allow`. `OPTIONS` is answered with them.
 */
import type { FastifyInstance, RouteOptions } from 'fastify'
import { invalidArgument } from '../api/index.js'
import { withStatus } from '../http/errors.js'

const refusable = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'PATCH']

/**
 * Notes the methods of the routes that are added later. The result adds the refusals of the others;
 * it must be called after all routes are added.
 */
export function watchMethods(app: FastifyInstance): () => void {
  const methods = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }: RouteOptions) => {
    const known = methods.get(url) ?? new Set()
    methods.set(url, known)
    for (const each of [method].flat()) known.add(each)
  })
  return () => {
    void app.register(async (scope) => {
      scope.addContentTypeParser('*', (_request, payload, done) => {
        payload.resume()
        done(null)
      })
      const all = [...methods].map(([url, known]) => [url, [...known]] as const)
      for (const [url, known] of all) refuseOthers(scope, url, known)
    })
  }
}

function refuseOthers(app: FastifyInstance, url: string, known: readonly string[]): void {
  const allow = [...known, 'OPTIONS'].join(', ')
  app.options(url, (_request, reply) => {
    void reply.code(204).header('allow', allow).send()
  })
  app.route({
    method: refusable.filter((method) => !known.includes(method)),
    url,
    exposeHeadRoute: false,
    handler: (request, reply) => {
      const problem = invalidArgument(`${request.method} is none of ${allow}`)
      void reply.header('allow', allow)
      throw withStatus(405, problem)
    },
  })
}

/**
 * The page of the repository: lists, shows, edits and searches records. HTML, a style and a script
 * in the folder `page`, without external resources. Values of records are set as text.
 */
import type { FastifyInstance } from 'fastify'
import { pageFile } from './page-file.js'

const types = { '': 'html', '.css': 'css', '.js': 'javascript' }

/** Addresses of the page, which needs no token: the page asks for one. */
export const pagePaths: readonly string[] = Object.keys(types).map(pathOf)

const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** Adds the routes of the page. */
export function registerPage(app: FastifyInstance): void {
  for (const [suffix, type] of Object.entries(types)) {
    const content = pageFile(`ui${suffix === '' ? '.html' : suffix}`)
    app.get(pathOf(suffix), async (_request, reply) => {
      void reply.headers(headers).type(`text/${type}; charset=utf-8`)
      return content
    })
  }
}

function pathOf(suffix: string): string {
  return `/repository/ui${suffix}`
}

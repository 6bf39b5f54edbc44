/**
 * Pages of the server: HTML, a style and a script in the folder `pages`, without external
 * resources. The script sets values as text.
 */
import type { FastifyInstance } from 'fastify'
import { pageFile } from './page-file.js'

const types = { '': 'html', '.css': 'css', '.js': 'javascript' }

/** Addresses of the page at a path. They need no token: the page asks for one. */
export function pagePaths(path: string): readonly string[] {
  return Object.keys(types).map((suffix) => path + suffix)
}

const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** Adds the routes of the page whose files have the name of the last part of its path. */
export function registerPage(app: FastifyInstance, path: string): void {
  const name = path.slice(path.lastIndexOf('/') + 1)
  for (const [suffix, type] of Object.entries(types)) {
    const own = pageFile(`${name}${suffix === '' ? '.html' : suffix}`)
    const content = suffix === '.css' ? pageFile('base.css') + own : own
    app.get(path + suffix, async (_request, reply) => {
      void reply.headers(headers).type(`text/${type}; charset=utf-8`)
      return content
    })
  }
}

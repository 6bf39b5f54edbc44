/** Checks the links of a built site: each leads to a file of the site, and to a name in its page. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

const entities = { amp: '&', quot: '"', lt: '<', gt: '>', '#39': "'" }

function valuesOf(page, names) {
  const values = page.matchAll(new RegExp(`\\s(?:${names})="([^"]*)"`, 'g'))
  return Array.from(values, ([, value]) => value.replace(/&([^;]+);/g, (_, name) => entities[name]))
}

/** The files of a folder by their paths, with the text of pages. */
function readSite(directory) {
  const site = new Map()
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    const path = file.slice(directory.length + 1).replaceAll('\\', '/')
    site.set(path, path.endsWith('.html') ? readFileSync(file, 'utf8') : undefined)
  }
  return site
}

/** Complaints about the links of the site in a folder, and the number of links. */
export function checkLinks(directory) {
  const site = readSite(directory)
  const names = new Map()
  const namesOf = (path) => {
    if (!names.has(path)) names.set(path, new Set(valuesOf(site.get(path), 'id')))
    return names.get(path)
  }
  const complaints = []
  let count = 0
  for (const [page, text] of site) {
    if (text === undefined) continue
    for (const link of new Set(valuesOf(text, 'href|src'))) {
      if (/^[a-z]+:/.test(link)) continue
      count++
      const [path, name] = link.split('#').map(decodeURIComponent)
      const place = path === '' ? page : posix.join(posix.dirname(page), path)
      const target = place.endsWith('/') ? posix.join(place, 'index.html') : place
      if (!site.has(target)) complaints.push(`${page} links to ${link}, which is not in the site`)
      else if (name && site.get(target) !== undefined && !namesOf(target).has(name)) {
        complaints.push(`${page} links to ${link}, and ${target} has no such heading`)
      }
    }
  }
  return { complaints, count }
}

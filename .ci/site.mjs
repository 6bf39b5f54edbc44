/**
 * A part of TypeDoc for `npm run docs`: modules have the names by which programs import them, and
 * documents those of their first headings. Places in the source are text, because the site has no
 * source. A broken link of the built site fails the build.
 */
import { readFileSync } from 'node:fs'
import { Converter, ReflectionKind, RendererEvent } from 'typedoc'
import { checkLinks } from './site-links.mjs'

const readJson = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
const entries = readJson('entries.json')

/** Import names by source file: 'src/server/index.ts' is 'cellardb/server'. */
const names = new Map()
for (const [subpath, target] of Object.entries(readJson('../package.json').exports)) {
  const built = entries[/^\.\/build\/package\/(.+)\.js$/.exec(target.default)?.[1]]
  if (built === undefined) continue
  const source = built.replace(/^build\/(.+)\.js$/, '$1.ts')
  names.set(source, subpath.replace('.', 'cellardb'))
}

/** Named by TypeDoc, as it loads this file. */
export function load(application) {
  application.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.getReflectionsByKind(ReflectionKind.Module)) {
      const source = [...names.keys()].find((path) => {
        return module.sources?.[0]?.fullFileName.endsWith(`/${path}`)
      })
      if (source === undefined) throw new Error(`${module.name} is no export of package.json`)
      module.name = names.get(source)
    }
    for (const document of project.getReflectionsByKind(ReflectionKind.Document)) {
      const [heading] = document.content
      const title = /^# (.+)$/m.exec(heading?.text ?? '')?.[1]
      if (title !== undefined) document.name = title
    }
  })
  application.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    for (const reflection of Object.values(project.reflections)) {
      for (const source of reflection.sources ?? []) delete source.url
    }
  })
  application.renderer.on(RendererEvent.END, ({ outputDirectory }) => {
    const { complaints } = checkLinks(outputDirectory)
    for (const complaint of complaints) application.logger.error(complaint)
  })
}

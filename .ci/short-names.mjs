/**
 * Short names and short lines for the modules that esbuild has bundled and minified.
 *
 * esbuild gives each variable of a file a name that no other one has. oxc gives a name again wherever
 * the other variable is out of sight, so that functions of one shape have one text: 12 kB less of the
 * package. It renames, and does not compress: the code stays what esbuild has made.
 */
import { minifySync } from 'oxc-minify'
import { SourceMap } from 'node:module'

/** Node prints the whole line with an uncaught error; lines of 1,000 make the package 3 kB larger. */
const lineLength = 4000

/** The text of a module with short names of its variables, and with lines that end early. */
export function withShortNames(path, text) {
  const { code, map } = printed(path, text, { sourcemap: true })
  // What bundlers look for: not all of them read a template as an address.
  const lines = inLines(code, new SourceMap(map))
  if (printed(path, lines, { mangle: false }).code !== code)
    throw new Error(`${path}: a wrong line`)
  return lines.replace(/\b(import\(|new URL\()`([^`$]+)`/g, '$1"$2"')
}

function printed(path, text, options) {
  const result = minifySync(path, text, { module: true, compress: false, ...options })
  if (result.errors.length > 0) throw new Error(`${path}: ${result.errors[0].message}`)
  return result
}

/** Ends lines after a `;` or `,` between two tokens, which is where the map has a place. */
function inLines(text, map) {
  return text
    .split('\n')
    .map((line, index) => {
      const placeBefore = (column) => {
        const { generatedLine, generatedColumn } = map.findEntry(index, column)
        return generatedLine === index ? generatedColumn : 0
      }
      const parts = []
      let end = line.length
      while (end > lineLength) {
        let place = placeBefore(end - lineLength)
        while (place > 0 && !';,'.includes(line[place - 1])) place = placeBefore(place - 1)
        // An empty line before this one would be in a template that the line begins in.
        if (place === 0) break
        parts.unshift(line.slice(place, end))
        end = place
      }
      return [line.slice(0, end), ...parts].join('\n')
    })
    .join('\n')
}

// One HTML file with all in it, and a policy that lets nothing else run: it is served as it is, and written into files as it is.
import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";

function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      const html = Object.values(bundle).find((part) => part.fileName.endsWith(".html"));
      if (html?.type !== "asset") throw new Error("there is no HTML");
      let text = String(html.source);
      const scripts: string[] = [];
      const styles: string[] = [];
      for (const part of Object.values(bundle)) {
        if (part.type === "chunk") scripts.push(part.code.trim());
        else if (part.fileName.endsWith(".css")) styles.push(String(part.source).trim());
        else if (part !== html) throw new Error(`${part.fileName} would be a second file`);
        if (part !== html) delete bundle[part.fileName];
      }
      // What would end the element is written otherwise.
      const script = scripts.join("\n").replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
      const style = styles.join("\n");
      const hash = (content: string) => `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
      const policy = [
        "default-src 'none'",
        `script-src ${hash(script)}`,
        `style-src ${hash(style)}`,
        "img-src data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
      ].join("; ");
      text = text.replace(/<script type="module"[^>]*><\/script>\s*/g, "").replace(/<link rel="(stylesheet|modulepreload)"[^>]*>\s*/g, "");
      const put = (mark: string, what: string) => {
        if (!text.includes(mark)) throw new Error(`the HTML has no ${mark}`);
        text = text.replace(mark, () => what);
      };
      put('<meta charset="utf-8">', `<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${policy}">`);
      put("</head>", `<style>${style}</style>\n</head>`);
      put("</body>", `<script type="module">${script}</script>\n</body>`);
      html.source = text;
    },
  };
}

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: { target: "es2022", modulePreload: false, cssCodeSplit: false, assetsInlineLimit: 0, chunkSizeWarningLimit: 2000 },
  plugins: [oneFile()],
  test: { include: ["tests/**/*.test.ts"] },
} as Parameters<typeof defineConfig>[0]);

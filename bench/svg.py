"""Pictures as SVG text: what the plots of this folder are drawn with."""


def text(x, y, content, **style):
    attributes = ''.join(f' {k.replace("_", "-")}="{v}"' for k, v in style.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{attributes}>{content}</text>'


def picture(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" font-family="sans-serif" font-size="12">\n'
            f'<rect width="{width}" height="{height}" fill="white"/>\n' + '\n'.join(parts) + '\n</svg>\n')

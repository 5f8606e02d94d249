"""Names that computed templates need: months, numbers, languages, countries. English."""

_MONTHS = (  # noqa: SIM905
    "January February March April May June July August September October November December"
).split()
MONTHS = (
    {str(number): name for number, name in enumerate(_MONTHS, 1)}
    | {name.casefold(): name for name in _MONTHS}
    | {name[:3].casefold(): name for name in _MONTHS}
)
"""Number, name or first three letters of a month → its name."""


def _pairs(table: str) -> dict[str, str]:
    return dict(line.strip().split(" ", 1) for line in table.strip().splitlines())


LANGUAGES = _pairs("""
af Afrikaans
akk Akkadian
am Amharic
ang Old English
ar Arabic
arc Imperial Aramaic
arz Egyptian Arabic
ast Asturian
az Azerbaijani
ba Bashkir
be Belarusian
bg Bulgarian
bn Bengali
bo Tibetan
br Breton
bs Bosnian
ca Catalan
ce Chechen
ceb Cebuano
ckb Central Kurdish
co Corsican
cop Coptic
cs Czech
cy Welsh
da Danish
de German
dv Dhivehi
egy Egyptian
el Greek
en English
eo Esperanto
es Spanish
et Estonian
eu Basque
fa Persian
fi Finnish
fil Filipino
fo Faroese
fr French
fro Old French
fy West Frisian
ga Irish
gd Scottish Gaelic
gl Galician
gn Guarani
got Gothic
grc Ancient Greek
grc-gre Greek
gu Gujarati
gv Manx
ha Hausa
haw Hawaiian
he Hebrew
hi Hindi
hr Croatian
ht Haitian Creole
hu Hungarian
hy Armenian
id Indonesian
ig Igbo
is Icelandic
it Italian
iu Inuktitut
ja Japanese
jv Javanese
ka Georgian
kk Kazakh
km Khmer
kn Kannada
ko Korean
ku Kurdish
kw Cornish
ky Kyrgyz
la Latin
lb Luxembourgish
lo Lao
lt Lithuanian
lv Latvian
mi Māori
mk Macedonian
ml Malayalam
mn Mongolian
mr Marathi
ms Malay
mt Maltese
my Burmese
nah Nahuatl
nds Low German
ne Nepali
nl Dutch
nn Norwegian Nynorsk
no Norwegian
nb Norwegian Bokmål
nv Navajo
oc Occitan
om Oromo
or Odia
os Ossetian
pa Punjabi
pi Pali
pl Polish
ps Pashto
pt Portuguese
qu Quechua
rm Romansh
ro Romanian
ru Russian
rw Kinyarwanda
sa Sanskrit
sah Yakut
sc Sardinian
scn Sicilian
sco Scots
sd Sindhi
se Northern Sami
sh Serbo-Croatian
si Sinhala
sk Slovak
sl Slovene
sm Samoan
so Somali
sq Albanian
sr Serbian
su Sundanese
sv Swedish
sw Swahili
syr Syriac
ta Tamil
te Telugu
tg Tajik
th Thai
ti Tigrinya
tk Turkmen
tl Tagalog
tr Turkish
tt Tatar
ug Uyghur
uk Ukrainian
ur Urdu
uz Uzbek
vi Vietnamese
xh Xhosa
yi Yiddish
yo Yoruba
zh Chinese
zu Zulu
""")
"""Language code → name before the text of {{langx}}."""

COUNTRIES = _pairs("""
AFG Afghanistan
ALB Albania
ALG Algeria
AND Andorra
ANG Angola
ARG Argentina
ARM Armenia
AUS Australia
AUT Austria
AZE Azerbaijan
BAH Bahamas
BAN Bangladesh
BAR Barbados
BEL Belgium
BLR Belarus
BOL Bolivia
BIH Bosnia and Herzegovina
BOT Botswana
BRA Brazil
BUL Bulgaria
BRN Bahrain
BUR Burkina Faso
CAM Cambodia
CMR Cameroon
CAN Canada
CHI Chile
CHN China
CIV Ivory Coast
COD Democratic Republic of the Congo
COL Colombia
CRC Costa Rica
CRO Croatia
CUB Cuba
CYP Cyprus
CZE Czech Republic
DEN Denmark
DOM Dominican Republic
ECU Ecuador
EGY Egypt
ENG England
ESA El Salvador
ESP Spain
EST Estonia
ETH Ethiopia
EU European Union
FIJ Fiji
FIN Finland
FRA France
FRG West Germany
GBR United Kingdom
GDR East Germany
GEO Georgia
GER Germany
GHA Ghana
GRE Greece
GRC Greece
GUA Guatemala
HAI Haiti
HKG Hong Kong
HON Honduras
HUN Hungary
INA Indonesia
IDN Indonesia
IND India
IRI Iran
IRN Iran
IRL Ireland
IRQ Iraq
ISL Iceland
ISR Israel
ITA Italy
JAM Jamaica
JOR Jordan
JPN Japan
KAZ Kazakhstan
KEN Kenya
KOR South Korea
KOS Kosovo
KSA Saudi Arabia
KUW Kuwait
LAT Latvia
LBN Lebanon
LIE Liechtenstein
LTU Lithuania
LUX Luxembourg
MAR Morocco
MAS Malaysia
MDA Moldova
MEX Mexico
MGL Mongolia
MKD North Macedonia
MLT Malta
MNE Montenegro
MON Monaco
MOZ Mozambique
NAM Namibia
NED Netherlands
NLD Netherlands
NEP Nepal
NGR Nigeria
NGA Nigeria
NIR Northern Ireland
NOR Norway
NZL New Zealand
PAK Pakistan
PAN Panama
PAR Paraguay
PER Peru
PHI Philippines
PLE Palestine
PNG Papua New Guinea
POL Poland
POR Portugal
PRC China
PRK North Korea
PUR Puerto Rico
QAT Qatar
ROC Republic of China
ROM Romania
ROU Romania
RSA South Africa
RUS Russia
SCO Scotland
SEN Senegal
SGP Singapore
SIN Singapore
SLO Slovenia
SVN Slovenia
SMR San Marino
SRB Serbia
SRI Sri Lanka
SUI Switzerland
CHE Switzerland
SVK Slovakia
SWE Sweden
SYR Syria
TAN Tanzania
TCH Czechoslovakia
THA Thailand
TPE Chinese Taipei
TTO Trinidad and Tobago
TUN Tunisia
TUR Turkey
TWN Taiwan
UAE United Arab Emirates
UGA Uganda
UK United Kingdom
UKR Ukraine
URS Soviet Union
URU Uruguay
USA United States
US United States
USSR Soviet Union
UZB Uzbekistan
VAT Vatican City
VEN Venezuela
VIE Vietnam
WAL Wales
YUG Yugoslavia
ZAM Zambia
ZIM Zimbabwe
""")
"""Three-letter codes of {{flag}} → country."""

_ONES = (  # noqa: SIM905
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    " fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905


def spelled(number: str) -> str:
    """A whole number up to 99 in words; any other stays as it is."""
    if not number.isdecimal() or len(number) > 2:  # noqa: PLR2004 digits
        return number
    value = int(number)
    if value < len(_ONES):
        return _ONES[value]
    tens, ones = divmod(value, 10)
    return _TENS[tens - 2] + (f"-{_ONES[ones]}" if ones else "")
